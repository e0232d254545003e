import CQRencode

/// A text as a QR code for a terminal (libqrencode): two rows of squares in each line.
enum QRCode {
  /// nil if the text is too long.
  static func lines(_ text: String) -> [String]? {
    guard let code = unsafe QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1) else {
      return nil
    }
    defer { unsafe QRcode_free(code) }
    let width = unsafe Int(code.pointee.width)
    func isDark(_ x: Int, _ y: Int) -> Bool {
      guard (0..<width).contains(x), (0..<width).contains(y) else { return false }
      return unsafe code.pointee.data[y * width + x] & 1 == 1
    }
    let border = 2
    return stride(from: -border, to: width + border, by: 2).map { y in
      let squares = (-border..<width + border).map { x in
        switch (isDark(x, y), isDark(x, y + 1)) {
        case (true, true): " "
        case (true, false): "▄"
        case (false, true): "▀"
        case (false, false): "█"
        }
      }
      return squares.joined()
    }
  }
}
