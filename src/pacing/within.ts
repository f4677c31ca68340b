/** @throws Error with `problem` when the promise has not settled in `ms`. Its work goes on; a later failure of it is ignored. */
export async function within<Value>(promise: Promise<Value>, ms: number, problem: string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(problem)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
