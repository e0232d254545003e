import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumStore

/// A whole space's journal, checkpoints and data, as an attacker with its keys might make them. The input is
/// a list of records. The target seals them, puts them on a disk in memory, opens the space, changes and
/// closes it, and opens it again.
///
/// Each step of the input is one byte and what it needs:
///
/// | byte & 15 | step | |---|---| | 0 | a journal head that fits what went before | | 1 | a journal head of
/// the 108 bytes that follow its number | | 2 | a frame that continues the chain, with the run of items that
/// follows; bit 4: it goes on, bit 5: it goes on from the one before | | 3 | a frame of the run of bytes that
/// follows | | 4 | a barrier for the frame that many before | | 5 | the next journal segment | | 6 | a data
/// record for the extents of `ItemSeeds`, of that many bytes | | 7 | a checkpoint record that continues, with
/// the run of items that follows; bit 4: the last | | 8 | a checkpoint record of the run of bytes that
/// follows | | 9 | the checkpoint in later heads: 28 bytes | | 10 | heads name the checkpoint written so far
/// | | 11 | cells of the grid that hold no record | | 12 | the next frame has a gap before it |
enum RecoveryTarget: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    var forger = Forger()
    forger.follow(Script(bytes))
    let store = Store(directory: forger.set.onDisk(), segmentSize: FixedSpace.segmentSize)
    for _ in 0..<2 {
      var options = SpaceOpenOptions(logger: silent)
      options.worksInBackground = false
      do throws(StoreError) {
        let space = try Space.open(store, keys: FixedSpace.keys, options: options)
        space.change { CatalogProbe.use(&$0) }
        try space.close()
      } catch {
        require(!error.message.isEmpty, "a refusal says why")
        return
      }
    }
  }

  static func seeds() -> [[UInt8]] {
    let items = ItemSeeds.items()
    var plain: [UInt8] = [0, 0]
    for frame in items {
      plain.append(2)
      plain.append(run: frame)
    }
    var closed = plain
    closed += [6, 100, 4, 1, 4, 1]
    var second = closed
    second += [5, 0, 0, 4, 1, 2]
    second.append(run: items[1])
    var checkpointed: [UInt8] = []
    for frame in items {
      checkpointed.append(7)
      checkpointed.append(run: frame)
    }
    checkpointed += [0x17, 0, 0, 10, 0, 0, 2]
    checkpointed.append(run: items[2])
    var long: [UInt8] = [0, 0, 0x12]
    long.append(run: Array(items[2].prefix(50)))
    long.append(0x22)
    long.append(run: Array(items[2].dropFirst(50)))
    return [plain, closed, second, checkpointed, long]
  }
}

/// Follows the steps.
private struct Forger {
  var set = SegmentSet()
  private var journal: UInt32 = 1
  private var predecessor: UInt32 = 0
  private var frame = FrameNumber.none
  private var hash = [UInt8](repeating: 0, count: JournalFrame.hashByteCount)
  private var checkpoint = CheckpointReference()
  private var place: UInt32 = 0
  private var steps = 0

  init() {
    // Without any segment the search for a journal takes long and finds nothing.
    set.append(raw: [], to: .journal, 1)
  }

  mutating func follow(_ script: Script) {
    var script = script
    while !script.isAtEnd, steps < 256 {
      steps += 1
      step(script.byte(), &script)
    }
  }

  private mutating func step(_ code: UInt8, _ script: inout Script) {
    switch code & 15 {
    case 0: set.append(head.encoded(), .journalHead, to: .journal, journal)
    case 1:
      let bytes = Array(head.encoded().prefix(4)) + script.take(JournalHead.byteCount - 4)
      set.append(bytes, .journalHead, to: .journal, journal)
    case 2:
      append(
        script.run(), continues: code & 16 != 0, isContinuation: code & 32 != 0)
    case 3: set.append(script.run(), .frame, to: .journal, journal)
    case 4:
      var writer = ByteWriter()
      let back = UInt64(script.byte())
      JournalItem.barrier(FrameNumber(frame.rawValue >= back ? frame.rawValue - back : back))
        .encode(into: &writer)
      append(writer.bytes, continues: false, isContinuation: false)
    case 5:
      predecessor = journal
      journal += 1 + UInt32(script.byte() & 1)
    case 6:
      let plaintext = DataRecordTarget.plaintext(content: 1 + Int(script.byte()), offset: 0)
      set.append(plaintext, .data, to: .data, 1)
    case 7:
      let record = CheckpointRecord(
        checkpoint: SegmentNumber(1), place: place, continuation: code & 16 != 0 ? .last : .none,
        items: script.run())
      set.append(record.encoded(), .checkpoint, to: .checkpoint, 1)
      place += 1
    case 8: set.append(script.run(), .checkpoint, to: .checkpoint, 1)
    case 9:
      var bytes = [UInt8](repeating: 0, count: JournalHead.byteCount)
      bytes[0] = 1
      bytes.replaceSubrange(56..<84, with: padded(script.take(28)))
      if let head = try? JournalHead(decoding: bytes) { checkpoint = head.checkpoint }
    case 10:
      checkpoint.firstSegment = SegmentNumber(1)
      checkpoint.segmentCount = 1
      checkpoint.lastFrame = frame
      checkpoint.firstJournal = SegmentNumber(journal)
    case 11:
      let count = RecordLayout.grid * Int(script.byte() & 7)
      set.append(raw: [UInt8](repeating: 0xA5, count: count), to: .journal, journal)
    case 12: frame = FrameNumber(frame.rawValue &+ UInt64(script.byte()))
    default: break
    }
  }

  private func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: 28 - bytes.count)
  }

  private var head: JournalHead {
    var head = JournalHead(number: SegmentNumber(journal))
    head.predecessor = SegmentNumber(predecessor)
    head.cutFrame = frame
    head.cutHash = hash
    head.checkpoint = checkpoint
    return head
  }

  private mutating func append(_ items: [UInt8], continues: Bool, isContinuation: Bool) {
    let next = JournalFrame(
      number: frame.next, previousHash: hash, continues: continues, isContinuation: isContinuation,
      items: items)
    let plaintext = next.encoded()
    guard set.append(plaintext, .frame, to: .journal, journal) != nil else { return }
    frame = next.number
    hash = Digest.blake2b(plaintext)
  }
}
