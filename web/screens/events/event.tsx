/** One event: what it says, its file, its JSON. */
import { Download } from 'lucide';
import { pathOf } from '../../core/api/json.ts';
import { useAction, useLoaded } from '../../core/api/request.ts';
import { href } from '../../core/route.ts';
import type { ScreenProps } from '../../core/route.ts';
import { fileOf, filePath, readEventText } from '../../core/server/event.ts';
import type { DeviceEvent } from '../../core/server/event.ts';
import { download } from '../../core/server/exports.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { JsonView } from '../../parts/json.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { Empty, Fault, FormFault, Loading } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { words as eventWords } from './text.ts';

function Content({ text }: { readonly text: string }) {
  const words = eventWords();
  const event = JSON.parse(text) as DeviceEvent;
  const file = fileOf(event);
  const fetchFile = useAction(() => download(filePath(event.id), file?.name ?? event.id));
  return (
    <Page
      copy={{ path: `/event/events/${event.id}` }}
      title={event.text === '' ? event.type : event.text}
      crumbs={[{ text: words.title, href: href('/events') }]}
      actions={
        file && (
          <Button icon={Download} isBusy={fetchFile.isRunning} onClick={() => void fetchFile.run()}>
            {`${common().download} ${file.name}`}
          </Button>
        )
      }
    >
      <FormFault error={fetchFile.error} />
      <Section title={words.one}>
        <dl class="facts">
          <dt>{words.source}</dt>
          <dd>
            <a href={href('/devices/:id/events', { id: event.source.id })}>{event.source.name ?? event.source.id}</a>
          </dd>
          <dt>{words.type}</dt>
          <dd>
            <span class="mono">{event.type}</span>
            <CopyButton text={event.type} />
          </dd>
          <dt>{words.time}</dt>
          <dd>
            <Time value={event.time} hasAge />
          </dd>
        </dl>
      </Section>
      <Section title={words.json}>
        <JsonView text={text} label={words.json} />
      </Section>
    </Page>
  );
}

export default function EventScreen({ params }: ScreenProps) {
  const words = eventWords();
  const id = params['id'];
  const loaded = useLoaded((signal) => readEventText(id, signal), [id]);
  if (loaded.data !== undefined && loaded.error === undefined) return <Content text={loaded.data} />;
  return (
    <Page
      copy={{ path: pathOf`/event/events/${id}` }}
      title={words.one}
      crumbs={[{ text: words.title, href: href('/events') }]}
    >
      {loaded.error === undefined ? (
        <Loading />
      ) : loaded.error.status === 404 ? (
        <Empty title={words.gone}>
          <p>{loaded.error.message}</p>
        </Empty>
      ) : (
        <Fault error={loaded.error} retry={loaded.reload} />
      )}
    </Page>
  );
}
