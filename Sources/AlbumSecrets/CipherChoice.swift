package import AlbumFormat
internal import AlbumModel
internal import Posix

extension CipherKind {
  /// True if this machine can seal and decrypt with it.
  package var isAvailable: Bool {
    switch self {
    case .xchacha20Poly1305: true
    case .aes256GCM: Sodium.hasAES && !TestHooks.hidesAES
    }
  }

  /// The cipher that seals full records fastest on this machine. Measures for some 10 milliseconds.
  package static func fastest() -> CipherKind {
    let available = CipherKind.allCases.filter(\.isAvailable)
    if available.count == 1 { return available[0] }
    let master = SecretBytes(randomCount: Sodium.keyByteCount)
    let trials = available.map { CipherTrial(RecordCipher($0, master: master)) }
    // The least time counts, since other programs only ever add to it.
    let times = trials.map { trial in
      (0..<CipherTrial.rounds).map { _ in trial.sealingTime() }.min()!
    }
    return zip(available, times).min { $0.1 < $1.1 }!.0
  }
}

/// Seals full records to measure a cipher.
private struct CipherTrial {
  static let rounds = 5
  private static let recordsPerRound = 16
  private let cipher: RecordCipher

  init(_ cipher: RecordCipher) { self.cipher = cipher }

  func sealingTime() -> Duration {
    let count = RecordLayout.maximumPlaintext
    return unsafe withUnsafeTemporaryAllocation(
      byteCount: RecordLayout.sealedByteCount(plaintext: count), alignment: 16
    ) { memory in
      unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
      let plaintext = unsafe UnsafeRawBufferPointer(
        rebasing: memory[RecordLayout.ciphertextOffset..<RecordLayout.ciphertextOffset + count])
      return ContinuousClock().measure {
        for _ in 0..<CipherTrial.recordsPerRound {
          unsafe cipher.seal(
            plaintext, kind: .data, segment: SegmentName(high: 0, low: 0), offset: 0, into: memory)
        }
      }
    }
  }
}
