import AlbumFormat
import AlbumModel
import AlbumSecrets

@testable import AlbumStore

/// Items as a space writes them: a small tree with everything that a catalog can contain.
enum ItemSeeds {
  static func items() -> [[UInt8]] {
    let time = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    var catalog = Catalog(rootOwner: 1000, group: 1000, permissions: 0o755, time: time)
    guard let root = catalog.index(of: .root) else { return [] }
    var frames = [catalog.takeChanges()]
    let album = make(.directory, "Trip", in: root, &catalog, time)
    let photo = make(.regular, "a.jpg", in: album, &catalog, time)
    let thumbnail = catalog.create(
      kind: .regular, permissions: 0o644, owner: 0, group: 0, time: time)
    catalog.setThumbnail(thumbnail, of: photo)
    catalog.unpin(thumbnail)
    let link = make(.symlink, "l", in: album, &catalog, time)
    catalog.setSymlinkTarget(link, to: Array("a.jpg".utf8))
    catalog.setAttribute(Array("user.x".utf8), of: album, to: [1, 2, 3])
    catalog.setProperty(.thumbnailEdge, to: 512)
    frames.append(catalog.takeChanges())
    let segment = catalog.takeDataSegment()
    let extents = [(0, 65_536), (65_536, 100), (200_000, 5)].map {
      Extent(offset: $0.0, length: $0.1, segment: segment, grid: UInt32($0.0 / 256), skip: 0)
    }
    for extent in extents {
      catalog.hold(extent)
      catalog.replaceExtents(of: photo, from: extent.offset, to: extent.end, with: [extent])
    }
    catalog.insertEntry(FileName(literal: "twin.jpg"), in: root, child: photo)
    frames.append(catalog.takeChanges())
    catalog.setState(
      of: segment, to: .retired, retiredAt: StoreTime(milliseconds: 1_700_000_000_000))
    catalog.moveEntry(
      FileName(literal: "Trip"), of: root, to: FileName(literal: "Journey"), in: root)
    catalog.removeEntry(FileName(literal: "l"), in: album)
    frames.append(catalog.takeChanges())
    var barrier = ByteWriter()
    JournalItem.barrier(FrameNumber(3)).encode(into: &barrier)
    JournalItem.ignorable.encode(into: &barrier)
    frames.append(barrier.bytes)
    return frames
  }

  private static func make(
    _ kind: FileKind, _ name: String, in directory: InodeIndex, _ catalog: inout Catalog,
    _ time: Timestamp
  ) -> InodeIndex {
    let index = catalog.create(kind: kind, permissions: 0o755, owner: 0, group: 0, time: time)
    catalog.insertEntry(FileName(known: Array(name.utf8)), in: directory, child: index)
    catalog.unpin(index)
    return index
  }
}

enum JournalHeadTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    var head = JournalHead(number: SegmentNumber(3))
    head.predecessor = SegmentNumber(2)
    head.cutFrame = FrameNumber(99)
    head.checkpoint.firstSegment = SegmentNumber(1)
    head.checkpoint.segmentCount = 2
    let heads = [head.encoded(), JournalHead(number: SegmentNumber(1)).encoded()]
    // The first stores of format 1 have shorter heads.
    return heads + [Array(heads[0].prefix(208))]
  }

  static func run(_ bytes: [UInt8]) {
    guard let head = try? JournalHead(decoding: bytes) else { return }
    let encoded = head.encoded()
    require(Array(encoded.prefix(bytes.count)) == bytes, "what was decoded encodes to the same")
    require(
      encoded.dropFirst(bytes.count).allSatisfy { $0 == 0 }, "a short head names no more segments")
    require(head.predecessor < head.number, "journal segments follow one another")
    for checkpoint in [head.checkpoint, head.formerCheckpoint] {
      require(
        UInt64(checkpoint.firstSegment.rawValue) + UInt64(checkpoint.segmentCount)
          <= UInt64(UInt32.max), "a checkpoint's segments have numbers")
    }
  }
}

/// A frame in clear: its head, its items, whether it is a barrier.
enum JournalFrameTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    ItemSeeds.items().enumerated().map { number, items in
      JournalFrame(
        number: FrameNumber(UInt64(number) + 1), previousHash: [UInt8](repeating: 1, count: 32),
        continues: number == 1, isContinuation: number == 2, items: items
      ).encoded()
    }
  }

  static func run(_ bytes: [UInt8]) {
    guard let frame = try? JournalFrame(decoding: bytes) else { return }
    require(frame.encoded().count == bytes.count, "what was decoded encodes to as much")
    _ = frame.number.next
    _ = frame.barrier
    var catalog = CatalogProbe.replayed([frame.items])
    if catalog != nil { CatalogProbe.use(&catalog!) }
  }
}

/// Several frames' items, behind those of a tree that they change.
enum JournalItemsTarget: FuzzTarget {
  private static let base = ItemSeeds.items()

  static func seeds() -> [[UInt8]] {
    base.map { [0] + $0 } + [[1] + base.flatMap { $0 }]
  }

  static func run(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let items = Array(bytes.dropFirst())
    let frames = first & 1 == 0 ? base + [items] : [items]
    roundTrip(items)
    var catalog = CatalogProbe.replayed(frames)
    if catalog != nil { CatalogProbe.use(&catalog!) }
  }

  private static func roundTrip(_ bytes: [UInt8]) {
    var items: [JournalItem] = []
    do throws(FormatError) { try decodeItems(bytes) { items.append($0) } } catch { return }
    var writer = ByteWriter()
    for item in items { item.encode(into: &writer) }
    var again: [JournalItem] = []
    do throws(FormatError) { try decodeItems(writer.bytes) { again.append($0) } } catch {
      fatalError("broken promise: what was decoded encodes to what decodes, but: \(error)")
    }
    require(items == again, "what was decoded encodes to the same")
  }
}

/// A journal segment's sealed bytes, as recovery scans them.
enum JournalSegmentTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    var set = SegmentSet()
    for _ in 0..<2 {
      set.append(JournalHead(number: SegmentNumber(1)).encoded(), .journalHead, to: .journal, 1)
    }
    for frame in JournalFrameTarget.seeds() { set.append(frame, .frame, to: .journal, 1) }
    let whole = set.segments.values.first ?? []
    return [whole, Array(whole.prefix(512)), Array(whole.dropFirst(512))]
  }

  static func run(_ bytes: [UInt8]) {
    var set = SegmentSet()
    set.append(raw: bytes, to: .journal, 1)
    let files = SegmentFiles(
      directory: set.onDisk(), keys: FixedSpace.keys, segmentSize: FixedSpace.segmentSize)
    do throws(StoreError) {
      let id = SegmentID(kind: .journal, number: SegmentNumber(1))
      let scan = try JournalScan(id, files: files)
      for frame in scan.frames {
        require(frame.end <= FixedSpace.segmentSize, "frames lie within their segment")
      }
    } catch {
      require(!error.message.isEmpty, "a refusal says why")
    }
  }
}
