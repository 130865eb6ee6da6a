// What a round of the contact loop does (`Control.phase`).
const PHASE_NORMAL: u32 = 0u; // one iteration
const PHASE_RESTART: u32 = 1u; // residual and first direction for changed contacts
const PHASE_ADAPT: u32 = 2u; // look at the moved geometry
const PHASE_ENTRY: u32 = 3u; // first of a step: contacts from the last one

// What is done with the contacts at the end of an iteration (`Control.action`).
const ACTION_NONE: u32 = 0u;
const ACTION_EVALUATE: u32 = 1u;
const ACTION_FORCED: u32 = 2u; // at a converged state, where smaller effects count
const ACTION_ADAPT: u32 = 3u;
