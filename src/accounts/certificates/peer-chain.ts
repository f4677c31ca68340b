/** The certificates that the other end of a TLS connection has shown. */
import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';

/** Certificates of one client that are looked at. */
const CHAIN_MAX = 10;

/** @returns the certificates of the other end, its own first; empty without one. */
export function peerChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  // Empty without a certificate; the root names itself as its issuer.
  let current: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true);
  for (let raw: Buffer | undefined = current.raw; raw !== undefined && chain.length < CHAIN_MAX; ) {
    chain.push(new X509Certificate(raw));
    current = current?.issuerCertificate;
    const next: Buffer | undefined = current?.raw;
    raw = next === undefined || next.equals(raw) ? undefined : next;
  }
  return chain;
}
