/** The history store in memory keeps the promises of the port that it stands for. */
import t from 'tap';
import { FakeHistory } from './fake-history.ts';
import { historyWriterContract } from './history-writer-contract.ts';

historyWriterContract(t, 'in memory', async () => {
  const writer = new FakeHistory();
  return { writer, values: async () => writer.values.map(({ value }) => value).sort((a, b) => a - b) };
});
