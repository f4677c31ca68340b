/** Consumers of Notifications 2.0 with their backlog, as the status of the server tells them. */
import { numberText } from '../../core/text/language.ts';
import { bytesText } from '../../core/text/units.ts';
import { Section } from '../../parts/page.tsx';
import { Table } from '../../parts/list/table.tsx';
import type { Column } from '../../parts/list/column.ts';
import type { Consumer } from './metrics.ts';
import { words as operateWords } from './text.ts';

export function Consumers({ consumers }: { readonly consumers: readonly Consumer[] }) {
  const words = operateWords();
  const columns: readonly Column<Consumer>[] = [
    { id: 'topic', title: words.topic, isHeading: true, cell: ({ topic }) => topic },
    { id: 'subscriber', title: words.subscriber, cell: ({ subscriber }) => subscriber },
    { id: 'state', title: words.state, cell: ({ behind }) => (behind ? words.isBehind : words.isUpToDate) },
    {
      id: 'open',
      title: words.open,
      isEnd: true,
      text: ({ connections }) => connections,
      cell: ({ connections }) => numberText(connections),
    },
    {
      id: 'unacknowledged',
      title: words.unacknowledged,
      isEnd: true,
      text: ({ unacknowledged }) => unacknowledged,
      cell: ({ unacknowledged }) => numberText(unacknowledged),
    },
    {
      id: 'backlog',
      title: words.backlog,
      isEnd: true,
      text: ({ topicMessages }) => topicMessages,
      cell: ({ topicMessages, topicBytes }) => `${numberText(topicMessages)} (${bytesText(topicBytes)})`,
    },
  ];
  return (
    <Section title={words.consumers}>
      {consumers.length === 0 ? (
        <p class="muted">{words.noConsumers}</p>
      ) : (
        <Table
          label={words.consumers}
          columns={columns}
          rows={consumers}
          keyOf={({ topic, subscriber }) => `${topic} ${subscriber}`}
        />
      )}
    </Section>
  );
}
