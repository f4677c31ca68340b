/** The menu of the person: account, colours, shortcuts, log out. */
import { CircleUser, Keyboard, LogOut, Moon, Sun, UserCog } from 'lucide';
import { logOut } from '../core/login/login.ts';
import type { CurrentUser } from '../core/api/session.ts';
import { notify } from '../core/notices.ts';
import { setPreferences } from '../core/preferences.ts';
import { href } from '../core/route.ts';
import { common } from '../core/text/common.ts';
import { Menu } from '../parts/menu.tsx';

export interface AccountMenuProps {
  readonly user: CurrentUser | undefined;
  readonly tenant: string | undefined;
  readonly onHelp: () => void;
}

const isDarkNow = (): boolean => getComputedStyle(document.documentElement).colorScheme.includes('dark');

export function AccountMenu({ user, tenant, onHelp }: AccountMenuProps) {
  const words = common();
  const isDark = isDarkNow();
  const leave = (): void => {
    logOut().catch((error: unknown) => notify(String(error), { kind: 'fault' }));
  };
  return (
    <Menu
      isIcon
      label={user === undefined ? words.account : `${words.account}: ${user.userName}`}
      icon={CircleUser}
      items={[
        {
          text: words.account,
          icon: UserCog,
          href: href('/account'),
          ...(user === undefined ? {} : { hint: tenant === undefined ? user.userName : `${tenant}/${user.userName}` }),
        },
        {
          text: isDark ? words.themes.light : words.themes.dark,
          icon: isDark ? Sun : Moon,
          onSelect: () => setPreferences({ theme: isDark ? 'light' : 'dark' }),
        },
        { text: words.shortcuts, icon: Keyboard, onSelect: onHelp },
        { text: words.logOut, icon: LogOut, onSelect: leave },
      ]}
    />
  );
}
