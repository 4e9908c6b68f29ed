// The program sends messages to real people: there is no receiver to show.

export const receiver = null;
