package import AlbumSecrets
package import AlbumStore

extension Store {
  /// Changes a password of which both are known. Throws like `passwordChange` and `finish`.
  package func changePassword(
    old: borrowing SecretBytes, new: borrowing SecretBytes
  ) throws(StoreError) {
    try finish(passwordChange(old: old), new: new)
  }

  /// The same with the recovery key.
  package func changePassword(
    recoveryKey: borrowing SecretBytes, new: borrowing SecretBytes
  ) throws(StoreError) {
    try finish(passwordChange(recoveryKey: recoveryKey), new: new)
  }
}
