/** Topic filters and topic names as text: validity and matching (MQTT 3.1.1 and 5.0, section 4.7). Pure. */

/** @returns whether `topic` can be published to: not empty, no wildcard, no NUL [MQTT-3.3.2-2]. */
export function isTopicNameText(topic: string): boolean {
  return topic.length > 0 && !topic.includes('+') && !topic.includes('#') && !topic.includes('\0');
}

/** @returns whether wildcards stand alone in their level and `#` in the last one [MQTT-4.7.1-2] [MQTT-4.7.1-3]. */
export function isTopicFilter(filter: string): boolean {
  if (filter.length === 0) return false;
  let levelStart = 0;
  for (let index = 0; index <= filter.length; index++) {
    const character = index === filter.length ? '/' : filter[index];
    if (character === '\0') return false;
    if (character !== '/') continue;
    const levelLength = index - levelStart;
    for (let inner = levelStart; inner < index; inner++) {
      const wildcard = filter[inner];
      if (
        (wildcard === '#' && (levelLength !== 1 || index !== filter.length)) ||
        (wildcard === '+' && levelLength !== 1)
      )
        return false;
    }
    levelStart = index + 1;
  }
  return true;
}

/** @returns whether the filter has a wildcard; without one it matches by equality. */
export function hasWildcard(filter: string): boolean {
  return filter.includes('+') || filter.includes('#');
}

/** Whether `topic` (a name) matches `filter` (valid). A first wildcard does not match `$` topics [MQTT-4.7.2-1]. */
export function matchesTopic(filter: string, topic: string): boolean {
  if (topic[0] === '$' && (filter[0] === '+' || filter[0] === '#')) return false;
  let at = 0;
  let inTopic = 0;
  for (;;) {
    if (filter[at] === '#') return true;
    const filterEnd = levelEnd(filter, at);
    const topicEnd = levelEnd(topic, inTopic);
    const isPlus = filter[at] === '+' && filterEnd === at + 1;
    if (!isPlus && filter.slice(at, filterEnd) !== topic.slice(inTopic, topicEnd)) return false;
    if (topicEnd === topic.length) {
      // `sport/#` matches `sport` itself (section 4.7.1.2).
      return filterEnd === filter.length || filter.slice(filterEnd) === '/#';
    }
    if (filterEnd === filter.length) return false;
    at = filterEnd + 1;
    inTopic = topicEnd + 1;
  }
}

function levelEnd(text: string, start: number): number {
  const end = text.indexOf('/', start);
  return end < 0 ? text.length : end;
}
