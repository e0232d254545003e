extension RandomAccessCollection {
  /// Returns the first place whose element fulfils a condition that all elements behind it fulfil as well, or
  /// `endIndex`. Takes as many looks as the count has binary digits.
  @inlinable
  package func partitioningIndex<Failure: Error>(
    where isBehind: (Element) throws(Failure) -> Bool
  ) throws(Failure) -> Index {
    var first = startIndex
    var count = self.count
    while count > 0 {
      let middle = index(first, offsetBy: count / 2)
      if try isBehind(self[middle]) {
        count /= 2
      } else {
        first = index(after: middle)
        count -= count / 2 + 1
      }
    }
    return first
  }
}
