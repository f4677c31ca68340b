/** The newest event of a source (SmartREST 407, docs/spec/smartrest.md#data-templates). */
import type { EventSearch } from '../ports/event-search.ts';
import { HistoryFilter } from './filter.ts';
import { documentPage } from './page.ts';
import type { ListReaders } from './readers.ts';

const ONE = { size: 1, current: 1, offset: 0, wantsTotal: false };

export function eventSearch({ history, ...others }: Omit<ListReaders, 'tenant'>): EventSearch {
  return {
    newest: async ({ source, type }, asker) => {
      const { tenant } = asker;
      const filter = new HistoryFilter(tenant).id('source', String(source)).text('type', type);
      const inTurn = {
        query: <Row>(statement: Parameters<typeof history.query>[0]) => history.query<Row>(statement, asker),
        stream: history.stream.bind(history),
      };
      const readers = { ...others, tenant, history: inTurn };
      const { rows } = await documentPage(readers, 'events', filter, { isDescending: true }, ONE);
      return rows[0]?.doc;
    },
  };
}
