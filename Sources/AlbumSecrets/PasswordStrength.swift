internal import CZxcvbn

/// Estimates how many guesses find a password. zxcvbn knows words, names, dates, keyboard patterns and
/// repetitions.
package enum PasswordStrength {
  /// A password with fewer bits is weak. 2^40 guesses take 35 years at 1,000 a second, which needs some
  /// hundred machines if one guess takes about half a second.
  static let weakBelow = 40

  /// The binary logarithm of the number of guesses, at most 250; nil if the estimate failed. Takes at most
  /// ten seconds, usually some milliseconds.
  package static func bits(of password: borrowing SecretBytes) -> Int? {
    let text = PasswordText.normalized(password)
    let bits = unsafe text.withUnsafeBytes { bytes in
      unsafe bytes.isEmpty ? 0 : Int(albumfs_password_bits(bytes.baseAddress!, bytes.count))
    }
    return bits < 0 ? nil : bits
  }

  /// False if the estimate failed.
  package static func isWeak(_ password: borrowing SecretBytes) -> Bool {
    bits(of: password).map { $0 < weakBelow } ?? false
  }
}
