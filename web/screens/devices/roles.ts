/** Of which one is needed to add a device. */
export const ADD_ROLES = ['ROLE_DEVICE_CONTROL_ADMIN'];
