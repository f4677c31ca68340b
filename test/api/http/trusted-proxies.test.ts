/** Which client a request is of, behind proxies that are trusted by number or by address. */
import t from 'tap';
import { calledAs, hostCalled } from '../../../src/api/http/base-url.ts';
import { addressBehind } from '../../../src/api/request/login-caller.ts';
import { TrustedProxies } from '../../../src/config/trusted-proxies.ts';

const [FORGED, CLIENT, INNER, OUTER] = ['203.0.113.9', '198.51.100.7', '10.1.2.3', '192.0.2.1'];

t.test('the address of the client', async (t) => {
  const check = (setting: string, peer: string, told: string, want: string): void => {
    const proxies = new TrustedProxies(setting);
    t.equal(
      addressBehind(peer, (name) => (name === 'x-forwarded-for' ? told : ''), proxies).key,
      want,
      `${setting}: ${told} from ${peer}`,
    );
    const forwarded = told
      .split(',')
      .map((address) => `for="${address.trim()}"`)
      .join(',');
    t.equal(
      addressBehind(peer, (name) => (name === 'forwarded' ? forwarded : ''), proxies).key,
      want,
      `${setting}: ${forwarded} from ${peer}`,
    );
  };
  check('no', INNER, CLIENT, INNER);
  check('yes', INNER, `${FORGED}, ${CLIENT}`, CLIENT);
  check('1', INNER, `${FORGED}, ${CLIENT}`, CLIENT);
  check('2', INNER, `${FORGED}, ${CLIENT}, ${OUTER}`, CLIENT);
  check('3', INNER, `${CLIENT}, ${OUTER}`, CLIENT);
  const networks = '10.0.0.0/8,192.0.2.1, 2001:db8::/32,::1';
  check(networks, INNER, `${FORGED}, ${CLIENT}`, CLIENT);
  check(networks, INNER, `${FORGED}, ${CLIENT}, ${OUTER}`, CLIENT);
  check(networks, INNER, `${FORGED}, ${CLIENT}:4711, ${OUTER}:80, [2001:db8::1]:443`, CLIENT);
  check(networks, '::ffff:10.1.2.3', CLIENT, CLIENT);
  check(networks, '0000:0000:0000:0000:0000:0000:0000:0001', CLIENT, CLIENT);
  check(networks, INNER, `${OUTER}, ${INNER}`, OUTER);
  check(networks, INNER, `${CLIENT}, unknown`, '');
  check(networks, '192.0.2.2', CLIENT, '192.0.2.2');
  t.equal(addressBehind(INNER, () => '', new TrustedProxies(networks)).key, INNER, 'a proxy that tells nothing');
});

t.test('the host that was called', async (t) => {
  const check = (setting: string, peer: string, told: string, want: string): void => {
    const header = (name: string): string =>
      (({ host: 'inner', 'x-forwarded-host': told }) as Record<string, string>)[name] ?? '';
    t.equal(
      hostCalled(calledAs(header, new TrustedProxies(setting).hopsOf({ remoteAddress: peer }), false)),
      want,
      `${setting}: ${told} from ${peer}`,
    );
  };
  check('no', INNER, 'a.example', 'inner');
  check('yes', INNER, 'a.example, b.example', 'a.example');
  check('1', INNER, 'forged.example, a.example', 'a.example');
  check('2', INNER, 'forged.example, a.example, b.example', 'a.example');
  check('2', INNER, 'a.example', 'a.example');
  check('10.0.0.0/8', INNER, 'a.example', 'a.example');
  check('10.0.0.0/8', CLIENT, 'forged.example', 'inner');
});
