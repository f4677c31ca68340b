/** The start page: is the server well, and what comes next. */
import { Page } from '../../parts/page.tsx';
import { words } from './text.ts';

export default function Home() {
  return (
    <Page title={words().title}>
      <p>{words().welcome}</p>
    </Page>
  );
}
