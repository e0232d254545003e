/// A perceptual hash of a picture: pictures that look alike have hashes with few different bits.
///
/// dHash, which compares neighbours in a picture of 9 by 9 grey squares: 64 bits say where the next square in
/// the row is brighter, and 64 where the next one in the column is (Neal Krawetz, "Kind of Like That", 2013;
/// in rows and columns as in the package `dhash` of Ben Hoyt). Its text has 32 hexadecimal digits.
package struct PictureHash: Hashable, Sendable, BitwiseCopyable {
  package let rows: UInt64
  package let columns: UInt64

  /// The squares of a row and of a column.
  package static let edge = 9
  private static let digits = 32

  /// nil for 0, which a picture of one colour has.
  package init?(rows: UInt64, columns: UInt64) {
    if rows == 0 && columns == 0 { return nil }
    (self.rows, self.columns) = (rows, columns)
  }

  /// `squares` has the brightness of each square, row by row. nil for another number of them, and for a
  /// picture of one colour.
  package init?(squares: [UInt8]) {
    let edge = PictureHash.edge
    guard squares.count == edge * edge else { return nil }
    var (rows, columns): (UInt64, UInt64) = (0, 0)
    for row in 0..<edge - 1 {
      for column in 0..<edge - 1 {
        let place = row * edge + column
        rows = rows << 1 | (squares[place] < squares[place + 1] ? 1 : 0)
        columns = columns << 1 | (squares[place] < squares[place + edge] ? 1 : 0)
      }
    }
    self.init(rows: rows, columns: columns)
  }

  /// Reads the text; nil for anything else.
  package init?(_ text: [UInt8]) {
    guard text.count == PictureHash.digits,
      text.allSatisfy({ 48...57 ~= $0 || 97...102 ~= $0 }),
      let rows = UInt64(String(decoding: text[..<16], as: UTF8.self), radix: 16),
      let columns = UInt64(String(decoding: text[16...], as: UTF8.self), radix: 16)
    else { return nil }
    self.init(rows: rows, columns: columns)
  }

  package var text: String {
    [rows, columns].map { half in
      let digits = String(half, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// The number of different bits, 0 to 128.
  package func distance(to other: PictureHash) -> Int {
    (rows ^ other.rows).nonzeroBitCount + (columns ^ other.columns).nonzeroBitCount
  }
}
