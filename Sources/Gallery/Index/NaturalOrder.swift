/// The order in which people count: `IMG_2` before `IMG_10`, capitals beside small letters.
enum NaturalOrder {
  /// True if `a` comes before `b`. Names that differ only in what this order ignores are ordered by bytes.
  static func precedes(_ a: ArraySlice<UInt8>, _ b: ArraySlice<UInt8>) -> Bool {
    var (i, j) = (a.startIndex, b.startIndex)
    while i < a.endIndex, j < b.endIndex {
      if isDigit(a[i]), isDigit(b[j]) {
        let (left, right) = (number(a, &i), number(b, &j))
        if left.count != right.count { return left.count < right.count }
        if left != right { return left.lexicographicallyPrecedes(right) }
      } else {
        let (left, right) = (folded(a[i]), folded(b[j]))
        if left != right { return left < right }
        i += 1
        j += 1
      }
    }
    if i < a.endIndex || j < b.endIndex { return i == a.endIndex }
    return a.lexicographicallyPrecedes(b)
  }

  /// The digits from a place on, without leading zeros. Moves the place behind them.
  private static func number(_ name: ArraySlice<UInt8>, _ place: inout Int) -> ArraySlice<UInt8> {
    let start = place
    while place < name.endIndex, isDigit(name[place]) { place += 1 }
    return name[start..<place].drop { $0 == UInt8(ascii: "0") }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
  private static func folded(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }
}
