import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix

@testable import AlbumStore

// A space whose keys never change, so that records sealed in one run decrypt in another, and a disk in memory
// for its segments.

enum FixedSpace {
  static let segmentSize = SegmentLayout.minimumByteCount

  static let keys: SpaceKeys = {
    let master = (0..<32).map { UInt8($0) }
    return SpaceKeys(master: secret(master), cipher: .xchacha20Poly1305)
  }()

  static func secret(_ bytes: [UInt8]) -> SecretBytes {
    unsafe SecretBytes(count: bytes.count) { memory in unsafe memory.copyBytes(from: bytes) }
  }

  /// The session that made all segments.
  static let birth = SegmentBirth(77)

  static func name(_ kind: SegmentKind, _ number: UInt32) -> SegmentName {
    keys.name(of: kind, number: SegmentNumber(number), birth: birth)
  }

  /// Returns the bytes of the record at this offset of a segment, up to the grid.
  static func sealed(
    _ plaintext: [UInt8], _ kind: RecordKind, in segment: SegmentName, at offset: Int
  ) -> [UInt8] {
    var bytes = [UInt8](
      repeating: 0, count: RecordLayout.paddedByteCount(plaintext: plaintext.count))
    unsafe bytes.withUnsafeMutableBytes { sealed in
      unsafe plaintext.withUnsafeBytes { plaintext in
        unsafe keys.cipher.seal(
          plaintext, kind: kind, segment: segment, offset: Int64(offset), into: sealed)
      }
    }
    return bytes
  }

  /// Calls `body` with every record of a segment with these bytes.
  static func walk(
    _ bytes: [UInt8], _ name: SegmentName, _ body: (SegmentWalk.Record) -> Void
  ) {
    let image = SegmentImage(byteCount: max(bytes.count, 1))
    unsafe bytes.withUnsafeBytes { unsafe image.bytes.copyMemory(from: $0) }
    image.used = bytes.count
    var walk = SegmentWalk(image, name: name, cipher: keys.cipher)
    while let record = walk.next() { body(record) }
  }
}

/// Segments under construction, and the disk for them.
struct SegmentSet {
  private(set) var segments: [SegmentID: [UInt8]] = [:]

  func end(_ kind: SegmentKind, _ number: UInt32) -> Int {
    segments[SegmentID(kind: kind, number: SegmentNumber(number))]?.count ?? 0
  }

  /// Seals a record at the end of a segment, if it fits. Returns its offset.
  @discardableResult
  mutating func append(
    _ plaintext: [UInt8], _ record: RecordKind, to kind: SegmentKind, _ number: UInt32
  ) -> Int? {
    let id = SegmentID(kind: kind, number: SegmentNumber(number))
    let offset = segments[id]?.count ?? 0
    guard plaintext.count <= RecordLayout.maximumPlaintext,
      offset + RecordLayout.paddedByteCount(plaintext: plaintext.count) <= FixedSpace.segmentSize
    else { return nil }
    segments[id, default: []] += FixedSpace.sealed(
      plaintext, record, in: FixedSpace.name(kind, number), at: offset)
    return offset
  }

  /// Appends bytes as they are.
  mutating func append(raw bytes: [UInt8], to kind: SegmentKind, _ number: UInt32) {
    let id = SegmentID(kind: kind, number: SegmentNumber(number))
    let room = FixedSpace.segmentSize - (segments[id]?.count ?? 0)
    segments[id, default: []] += bytes.prefix(max(0, room))
  }

  /// Returns a disk with the segments, each as long as its content: recovery reads short ones too.
  func onDisk() -> SimulatedDisk {
    let disk = SimulatedDisk()
    disk.makeFolder(SegmentPath.root)
    for (id, bytes) in segments {
      let name = FixedSpace.name(id.kind, id.number.rawValue)
      disk.makeFolder(SegmentPath.directory(of: name))
      disk.put(SegmentPath.path(of: name), bytes)
    }
    return disk
  }
}

extension SimulatedDisk {
  func makeFolder(_ path: String) {
    do throws(Errno) { try makeDirectory(path) } catch {
      require(error == .exists, "a directory can be made on the disk in memory")
    }
  }

  func put(_ path: String, _ bytes: [UInt8]) {
    do throws(Errno) {
      let file = try open(path, .createNew)
      var failure: Errno?
      unsafe bytes.withUnsafeBytes {
        do throws(Errno) { try unsafe file.write($0, at: 0) } catch { failure = error }
      }
      if let failure { throw failure }
    } catch {
      fatalError("cannot write \(path): \(error)")
    }
  }
}

/// Logs nothing, because nobody reads the messages about hostile bytes.
let silent = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
