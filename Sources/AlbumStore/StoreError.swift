package import Posix

package struct StoreError: Error, Sendable {
  package enum Code: Sendable {
    case notAStore, newerFormat, wrongPassword, emptyPassword, configurationAltered, keysDamaged,
      costRefused, unsupportedFeature, inUse, alreadyExists, notEmpty, damaged, noSpace,
      quotaExceeded, readOnly, inputOutput, missing
  }
  package var code: Code
  package var message: String
  package var path: String?
  package var cause: Errno?
}
