// The page of the on-call service, with its built-in receiver: `keyloom demo oncall --size 6`.

export async function use(page, url, { check, until }) {
  const contact = (name) => page.locator('.contact').filter({ hasText: name });
  const kinds = () => page.locator('#methods .kind').allTextContents();
  const status = async () => (await page.locator('#search .badge').textContent()) ?? '';
  const events = () => page.locator('#search .event:not(.next) .said').allTextContents();
  const ours = (kind) => page.locator(`.received.ours.${kind}`);
  const received = () => page.locator('.received.ours').count();
  const start = async (message, patience, ...then) => {
    const before = page.url();
    await page.locator('#start [name=message]').fill(message);
    await page.locator('#start [name=patience]').fill(String(patience));
    for (const name of then) await page.locator('#then-add').selectOption({ label: name });
    await page.getByRole('button', { name: 'Start search' }).click();
    await until('a search is open', async () => page.url() !== before && (await status()) === 'Active');
    for (let left = then.length; left > 0; left--) await page.locator('#then .chip').first().click();
  };

  await page.goto(url);
  await until('contacts are listed', async () => (await page.locator('.contact').count()) === 6);
  const headers = { 'Keyloom-Tenant': 'acme' };
  const made = await page.request.post(`${url}/contacts`, { headers, data: { name: 'Somebody Else' } });
  await until('a contact of others appears', async () => (await contact('Somebody Else').count()) === 1);
  await page.request.delete(`${url}/contacts/${(await made.json()).id}`, { headers });
  await until('and goes again', async () => (await page.locator('.contact').count()) === 6);
  await contact('Ada Okafor').click();
  await until('methods are in their order', async () => (await kinds()).join() === 'Email,Text,Webhook,Call');

  // Past searches, by status.
  const badges = () => page.locator('#searches .badge').allTextContents();
  const chip = (name) => page.locator('#statuses').getByRole('button', { name });
  await until('past searches are listed', async () => (await badges()).length === 4);
  await chip('Failed').click();
  await until('a status narrows them', async () => (await badges()).join() === 'Failed');
  await page.locator('.past').click();
  await until('a past search shows how it ended', async () => (await events()).at(-1) === 'Nobody answered. The search failed.');
  check(await page.locator('#search form').isHidden(), 'what has ended cannot be ended again');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await chip('All').click();
  await until('all of them again', async () => (await badges()).length === 4);

  // Escalates from one method to the next, then to the next contact. More contacts follow, so that the
  // search is still active when it is answered, however slow the test runs.
  const evil = 'fire <img src=x onerror=alert(1)> in {room}';
  await start(evil, 4, 'Bruno Silva', 'Chiara Moretti', 'Dev Patel', 'Elif Kaya', 'Farah Haddad');
  check((await page.locator('#search .about').textContent()) === evil, 'a message is text');
  await until('the next step is shown', async () => /^Next (now|in \d+ s): \w+ to Ada Okafor at /.test(await page.locator('#search .next').textContent()));
  for (const kind of ['email', 'text', 'webhook', 'call']) {
    await until(`a message by ${kind} arrives`, async () => (await ours(kind).count()) > 0);
    check((await ours(kind).first().textContent()).includes('fire <img'), 'it says what the search says');
  }
  await until('the next contact has its turn', async () =>
    (await events()).some((text) => text === 'No answer from Ada Okafor. Escalated to Bruno Silva.'));
  check((await page.locator('.ladder .passed').first().textContent()) === 'Ada Okafor', 'the first had its turn');
  const phone = ours('text').filter({ hasText: '+15550101' });
  await until('a text to that contact arrives', async () => (await phone.count()) === 1);
  const order = (await events()).map((text) => text.split(' ')[0]);
  check(order.slice(0, 6).join() === 'Search,Email,Text,Webhook,Call,No', `one after the other: ${order}`);

  // An answer as from a phone, a wrong one first.
  const reply = async (text) => {
    await phone.locator('input').fill(text);
    await phone.getByRole('button', { name: 'Reply' }).click();
  };
  await reply('no');
  await until('a wrong answer says what a right one is', async () => (await phone.locator('.outcome').textContent()) === 'Reply OK to answer.');
  check((await status()) === 'Active', 'and changes nothing');
  await reply('OK, on my way');
  await until('the search ends', async () => (await status()) === 'Successful');
  check((await events()).at(-1) === 'Bruno Silva answered by text: “OK, on my way”', 'the timeline shows who answered');
  check((await page.locator('#search .next').count()) === 0, 'nothing comes next');
  const count = await received();
  const call = ours('call').last();
  await call.getByRole('button', { name: 'Press 1' }).click();
  await until('a second answer is too late', async () => (await call.locator('.outcome').textContent()).startsWith('Too late'));
  // The next message would be due within six seconds.
  await page.waitForTimeout(6_500);
  check((await received()) === count, 'nobody is messaged after the end');

  // Canceled, answered on the page, answered with the link of a mail.
  await start('a false alarm', 60);
  await page.locator('#search [name=note]').fill('A test.');
  await page.getByRole('button', { name: 'Cancel search' }).click();
  await until('a search is canceled', async () => (await status()) === 'Canceled');
  check((await events()).at(-1) === 'Canceled by Operator. “A test.”', 'the timeline shows who canceled and why');
  await until('so does the list of searches', async () => (await badges())[0] === 'Canceled');
  await start('a question', 60);
  await page.getByRole('button', { name: 'Mark as answered' }).click();
  await until('a search is answered on the page', async () => (await status()) === 'Successful');
  await start('mail', 60);
  await until('a mail arrives', async () => (await ours('email').count()) === 1);
  const opened = page.context().waitForEvent('page');
  await ours('email').locator('a').click();
  const link = await opened;
  await link.getByRole('button').click();
  await link.getByText('Thank you.').waitFor();
  await link.close();
  await until('the link answers', async () => (await events()).at(-1) === 'Ada Okafor answered with the link in the email.');

  // A new contact.
  await page.locator('#new-contact input').fill('Zoë <b>');
  await page.getByRole('button', { name: 'Add contact' }).click();
  await until('a new contact is chosen', async () => (await page.locator('.contact[aria-pressed=true]').textContent()) === 'Zoë <b>');
  for (const [kind, destination] of [['webhook', 'http://receiver.localhost/webhook/zoe'], ['email', 'zoe@example.com']]) {
    await page.locator('#new-method [name=kind]').selectOption(kind);
    await page.locator('#new-method [name=destination]').fill(destination);
    await page.locator('#new-method [name=wait]').fill('0');
    await page.getByRole('button', { name: 'Add method' }).click();
    await until('a method is added', async () => (await kinds()).at(-1)?.toLowerCase() === kind);
  }
  await page.getByRole('button', { name: 'Move up: Email zoe@example.com' }).click();
  await until('a method moves up', async () => (await kinds()).join() === 'Email,Webhook');
  await page.getByRole('checkbox', { name: 'Use Email zoe@example.com' }).uncheck();
  await until('a method is turned off', async () => (await page.locator('.method.off').count()) === 1);
  await start('hello', 60);
  await until('the other one is used', async () => (await ours('webhook').count()) === 1);
  check((await ours('email').count()) === 0, 'and it alone');
  await ours('webhook').getByRole('button', { name: 'Post to answer_url' }).click();
  await until('a webhook answers', async () => (await events()).at(-1) === 'Zoë <b> answered the webhook.');

  // Another domain sees none of this.
  await page.locator('#domain input').fill('globex');
  await page.locator('#domain input').press('Enter');
  await until('another domain is empty', async () => await page.locator('#nobody').isVisible());
  check((await page.locator('.contact').count()) === 0 && (await page.locator('.received').count()) === 0, 'it sees nothing');
}
