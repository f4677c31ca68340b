/** The columns of every table of events. */
import { Paperclip } from 'lucide';
import { href } from '../../core/route.ts';
import { fileOf } from '../../core/server/event.ts';
import type { DeviceEvent } from '../../core/server/event.ts';
import { Icon } from '../../parts/icon.tsx';
import type { Column } from '../../parts/list/column.ts';
import { Time } from '../../parts/time.tsx';
import type { EventTexts } from './text.ts';

export const eventColumns = (words: EventTexts, hasSource: boolean): readonly Column<DeviceEvent>[] => [
  { id: 'time', title: words.time, isNarrow: true, cell: ({ time }) => <Time value={time} hasAge /> },
  {
    id: 'text',
    title: words.text,
    isHeading: true,
    cell: ({ id, text }) => <a href={href('/events/:id', { id })}>{text === '' ? id : text}</a>,
  },
  { id: 'type', title: words.type, cell: ({ type }) => <span class="mono">{type}</span> },
  ...(hasSource
    ? [
        {
          id: 'source',
          title: words.source,
          cell: ({ source }: DeviceEvent) => (
            <a href={href('/devices/:id/events', { id: source.id })}>{source.name ?? source.id}</a>
          ),
        },
      ]
    : []),
  {
    id: 'file',
    title: words.file,
    isNarrow: true,
    cell: (event) => {
      const file = fileOf(event);
      return file === undefined ? (
        ''
      ) : (
        <a href={href('/events/:id', { id: event.id })}>
          <Icon icon={Paperclip} />
          {file.name}
        </a>
      );
    },
  },
];
