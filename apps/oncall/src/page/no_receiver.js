// Without the built-in receiver, messages go to real people, and there is nothing to show.

export const receiver = null;
