/// Returns the bytes of a vector's hexadecimal digits.
func bytes(_ hexadecimal: String) -> [UInt8] {
  let digits = Array(hexadecimal.utf8).map { UInt8(String(UnicodeScalar($0)), radix: 16)! }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
