internal import CZxcvbn

/// Estimates how many guesses find a password, as zxcvbn does: by words, names, dates, keyboard
/// patterns and repetitions.
package enum PasswordStrength {
  /// Below so many bits a password is weak: 2^40 guesses take 35 years at 1,000 a second, which
  /// takes some hundred machines where one guess is about half a second's work.
  package static let weakBelow = 40

  /// The logarithm of the number of guesses, at most 250; nil where nothing can be estimated. Takes
  /// at most ten seconds, usually some milliseconds.
  package static func bits(of password: borrowing SecretBytes) -> Int? {
    let text = PasswordText.normalized(password)
    let bits = unsafe text.withUnsafeBytes { bytes in
      unsafe bytes.isEmpty ? 0 : Int(albumfs_password_bits(bytes.baseAddress!, bytes.count))
    }
    return bits < 0 ? nil : bits
  }

  /// False where nothing can be estimated.
  package static func isWeak(_ password: borrowing SecretBytes) -> Bool {
    bits(of: password).map { $0 < weakBelow } ?? false
  }
}
