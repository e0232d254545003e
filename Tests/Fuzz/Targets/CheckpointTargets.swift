import AlbumFormat
import AlbumModel

@testable import AlbumStore

/// A record of a checkpoint, in clear.
enum CheckpointRecordTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    ItemSeeds.items().enumerated().map { place, items in
      CheckpointRecord(
        checkpoint: SegmentNumber(1), place: UInt32(place),
        continuation: place == 4 ? .last : .none, items: items
      ).encoded()
    }
  }

  static func run(_ bytes: [UInt8]) {
    guard let record = try? CheckpointRecord(decoding: bytes) else { return }
    require(record.encoded().count == bytes.count, "what was decoded encodes to as much")
    var catalog = CatalogProbe.replayed([record.items])
    if catalog != nil { CatalogProbe.use(&catalog!) }
  }
}

/// A checkpoint segment's sealed bytes, as the reader loads them.
enum CheckpointSegmentTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    var set = SegmentSet()
    for record in CheckpointRecordTarget.seeds() {
      set.append(record, .checkpoint, to: .checkpoint, 1)
    }
    return [set.segments.values.first ?? []]
  }

  static func run(_ bytes: [UInt8]) {
    var set = SegmentSet()
    set.append(raw: bytes, to: .checkpoint, 1)
    let files = SegmentFiles(
      directory: set.onDisk(), keys: FixedSpace.keys, segmentSize: FixedSpace.segmentSize)
    var reference = CheckpointReference()
    reference.firstSegment = SegmentNumber(1)
    reference.segmentCount = 1
    var catalog = Catalog()
    catalog.beginReplay()
    do throws(StoreError) {
      _ = try CheckpointReader.load(reference, files: files, into: &catalog)
      _ = catalog.finishReplay()
      _ = catalog.reconcile()
      CatalogProbe.use(&catalog)
    } catch {
      require(!error.message.isEmpty, "a refusal says why")
    }
  }
}
