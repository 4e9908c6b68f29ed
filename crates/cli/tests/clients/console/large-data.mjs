// Tasks as `keyloom import` reads them: `node large-data.mjs COUNT`. What makes lists hard to show and to search is in
// them: a tag key with 10,000 values, 300 other keys, tags of half of all tasks, tags of three tasks at either end, names
// of 200 characters with and without spaces, text from right to left, and a task with as many tags as a task can have.

import { once } from 'node:events';

const count = Number(process.argv[2]);
const digits = (number, length) => String(number).padStart(length, '0');

function name(index) {
  switch (index % 10) {
    case 0:
      return `task${index}`.padEnd(200, 'abcdefghij');
    case 1:
      return `task ${index} ${'of many words '.repeat(14)}`.slice(0, 200).trim();
    case 2:
      return `مهمة ${index} في المطبخ: اغسل الأطباق (قبل المساء)`;
    default:
      return `task ${index}`;
  }
}

function tags(index) {
  const tags = {
    priority: index % 2 === 0 ? 'low' : 'high',
    shelf: `shelf ${digits(index % 10_000, 4)}`,
    [`key ${digits(index % 300, 3)}`]: `value ${index % 7}`,
  };
  // Three at the very beginning, and three at the very end.
  if (index < 3) tags.rare = 'first';
  if (index >= count - 3) tags.rare = 'last';
  if (index % 10 === 1) Object.assign(tags, { project: `project ${index % 50}`, severity: index % 4 === 1 ? 'low' : 'high' });
  if (index % 1000 === 3) tags.remark = 'value'.padEnd(200, 'klmnopqrst');
  if (index % 1000 === 4) tags['المكان'] = 'المطبخ الكبير في الطابق الثاني';
  if (index === 5) for (let more = 0; more < 197; more += 1) tags[`many ${digits(more, 3)}`] = `value ${more}`;
  return tags;
}

for (let start = 0; start < count; ) {
  const end = Math.min(start + 1000, count);
  let lines = '';
  for (; start < end; start += 1) {
    const fields = { name: name(start), done: start % 3 === 0, tags: tags(start) };
    lines += `${JSON.stringify({ entity: 'task', id: `t${digits(start, 8)}`, fields })}\n`;
  }
  if (!process.stdout.write(lines)) await once(process.stdout, 'drain');
}
