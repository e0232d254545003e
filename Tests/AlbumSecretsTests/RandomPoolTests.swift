import AlbumSecrets
import Glibc
import Testing

// Random bytes look random in every size, and a child process never gets the bytes of its parent.

@Suite struct RandomPoolTests {
  @Test(arguments: [1, 24, 256, 257, 8192, (4 << 20) + 4096])
  func `every byte is filled, and differently each time`(count: Int) {
    // A byte that is never written keeps its value through all rounds.
    var touched = [Bool](repeating: false, count: count)
    for round in 0..<8 {
      var buffer = [UInt8](repeating: round % 2 == 0 ? 0 : 255, count: count)
      let before = buffer
      unsafe buffer.withUnsafeMutableBytes { unsafe RandomFill.fill($0) }
      for place in 0..<count where buffer[place] != before[place] { touched[place] = true }
    }
    #expect(!touched.contains(false))
  }

  @Test func `filling nothing is allowed`() {
    unsafe RandomFill.fill(UnsafeMutableRawBufferPointer(start: nil, count: 0))
  }

  /// Chi-square over the 256 values of a byte: 255 degrees of freedom, mean 255, deviation 22.6. Chance does
  /// not exceed 450.
  @Test func `bytes are spread evenly`() {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    unsafe buffer.withUnsafeMutableBytes { unsafe RandomFill.fill($0) }
    #expect(chiSquare(buffer) < 450)
    var small: [UInt8] = []
    for _ in 0..<4096 {
      var nonce = [UInt8](repeating: 0, count: 24)
      unsafe nonce.withUnsafeMutableBytes { unsafe RandomPool.take($0) }
      small += nonce
    }
    #expect(chiSquare(small) < 450)
  }

  /// The pool is partly used when the process forks. With a copy of it, the child would seal with the same
  /// nonces as its parent.
  @Test func `a child process gets other bytes than its parent`() throws {
    var ends: [CInt] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    _ = take()
    let child = fork()
    if child == 0 {
      let bytes = take()
      _ = unsafe write(ends[1], bytes, bytes.count)
      _exit(0)
    }
    try #require(child > 0)
    close(ends[1])
    let mine = take()
    var theirs = [UInt8](repeating: 0, count: 24)
    let count = unsafe read(ends[0], &theirs, 24)
    close(ends[0])
    waitpid(child, nil, 0)
    #expect(count == 24)
    #expect(theirs != mine)
    #expect(theirs != [UInt8](repeating: 0, count: 24))
  }

  private func take() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 24)
    unsafe bytes.withUnsafeMutableBytes { unsafe RandomPool.take($0) }
    return bytes
  }

  private func chiSquare(_ bytes: [UInt8]) -> Double {
    var counts = [Double](repeating: 0, count: 256)
    for byte in bytes { counts[Int(byte)] += 1 }
    let expected = Double(bytes.count) / 256
    return counts.reduce(0) { $0 + ($1 - expected) * ($1 - expected) / expected }
  }
}
