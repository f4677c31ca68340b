/** The fragment that marks an agent, which has two names (document 4 section 0.1): stored as it was sent, asked for by either. */

export const AGENT_MARKER = 'com_platform_model_Agent';
export const AGENT_MARKERS: readonly string[] = [AGENT_MARKER, 'com_cumulocity_model_Agent'];

/** All names of the fragment that is asked for as `name`. */
export const namesOfFragment = (name: string): readonly string[] => (AGENT_MARKERS.includes(name) ? AGENT_MARKERS : [name]);
