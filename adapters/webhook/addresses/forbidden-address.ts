/** A webhook leads to an address that is not public, and the operator does not allow such. */
export class ForbiddenAddress extends Error {
  static readonly code = 'FORBIDDEN_ADDRESS'
  readonly code = ForbiddenAddress.code

  constructor() {
    super('the address is not public')
  }
}
