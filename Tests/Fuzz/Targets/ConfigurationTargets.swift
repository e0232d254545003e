import AlbumModel
import AlbumStore
import AlbumTestSupport

@testable import AlbumFormat

private let configurations: [StoreConfiguration] = {
  let salt = (0..<16).map { UInt8($0) }
  let lines = [KDFCost.interactive, .moderate, .sensitive].enumerated().map {
    KeyDerivation(number: $0.offset + 1, cost: $0.element, salt: salt)
  }
  return [1, 3].map {
    StoreConfiguration(segmentSize: 4 << 20, derivations: Array(lines.prefix($0)))
  }
}()

/// albumfs.conf: the input itself, and the input with a checksum that fits, so that the fuzzer gets past the
/// check for damage. An accepted conf has exactly one spelling.
enum ConfigurationTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] { configurations.map { $0.encode() } }

  static func run(_ bytes: [UInt8]) {
    check(bytes)
    check(withChecksum(bytes))
  }

  static func withChecksum(_ bytes: [UInt8]) -> [UInt8] {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.last?.isEmpty ?? false { lines.removeLast() }
    let text = lines.dropLast().flatMap { $0 + [UInt8(ascii: "\n")] }
    let sum = String(CRC32(text).value, radix: 16)
    return text + Array("crc32 \(String(repeating: "0", count: 8 - sum.utf8.count))\(sum)\n".utf8)
  }

  private static func check(_ bytes: [UInt8]) {
    guard let configuration = try? StoreConfiguration(decoding: bytes) else { return }
    require(configuration.encode() == bytes, "a conf has one spelling")
    for derivation in configuration.derivations {
      require(KDFCost.memoryAllowed.contains(derivation.cost.memory), "costs are bounded")
    }
    require(StoreConfiguration.excess(configuration.derivations) == nil, "their sum is bounded")
  }
}

/// The two confs of a store, damaged each on its own.
enum ConfigurationFilesTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let all = configurations.map { $0.encode() }
    return [(all[0], all[0]), (all[0], all[1]), (all[0], [])].map { first, second in
      var seed: [UInt8] = [3]
      seed.append(run: first)
      return seed + second
    }
  }

  static func run(_ bytes: [UInt8]) {
    var script = Script(bytes)
    let flags = script.byte()
    let disk = SimulatedDisk()
    for (bit, name) in [(1, "albumfs.conf"), (2, "albumfs.conf.bak")] {
      let content = bit == 1 ? script.run() : script.rest()
      if flags & UInt8(bit) == 0 { continue }
      disk.put(name, flags & 4 == 0 ? content : ConfigurationTarget.withChecksum(content))
    }
    do throws(StoreError) {
      let store = try Store.open(disk)
      require(!store.configuration.derivations.isEmpty, "a store has a way to derive keys")
      require(
        StoreConfiguration.excess(store.configuration.derivations) == nil,
        "what the two confs cost together is bounded")
    } catch {
      require(!error.message.isEmpty, "a refusal says why")
    }
  }
}
