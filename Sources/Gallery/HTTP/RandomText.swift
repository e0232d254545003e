/// Random text for secrets and ids, from the system's generator.
enum RandomText {
  private static let letters = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Each character has 6 random bits.
  static func make(_ count: Int) -> String {
    var generator = SystemRandomNumberGenerator()
    let text = (0..<count).map { _ in letters[Int(generator.next() & 63)] }
    return String(decoding: text, as: UTF8.self)
  }
}
