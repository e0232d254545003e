// What browsers know and Debian's TypeScript 4.8 does not yet.
interface WakeLockSentinel extends EventTarget {
  release(): Promise<void>;
}
interface Navigator {
  readonly wakeLock: { request(type: "screen"): Promise<WakeLockSentinel> };
}
