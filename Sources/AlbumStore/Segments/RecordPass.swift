import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// Reads data segments whole, one after the other, and decrypts their records on two threads, because
/// decrypting takes about as long as reading.
///
/// Its lock guards the state that the threads share. They do not hold it while they read and decrypt.
final class RecordPass: Sendable {
  private struct State {
    var next = 0
    var findings: [SegmentFindings] = []
    var isStopped = false
    var failure: StoreError?
  }
  private let state = Mutex(State(), rank: .leaf)
  private let files: SegmentFiles
  private let uses: [RecordUse]
  private let segments: [SegmentNumber]
  private let walked: Set<SegmentNumber>
  private let progress: @Sendable (_ done: Int64, _ total: Int64) -> Bool

  private static let threadCount = 2

  /// `uses` in the order of their segments. `walked`: segments of which also records are opened that
  /// nothing refers to.
  init(
    files: SegmentFiles, uses: [RecordUse], walked: Set<SegmentNumber>,
    progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Bool
  ) {
    self.files = files
    self.uses = uses
    self.segments = walked.union(uses.map(\.extent.segment)).sorted()
    self.walked = walked
    self.progress = progress
  }

  /// Returns the findings in the segments, sorted by number; nil if `progress` stopped it.
  func run() throws(StoreError) -> [SegmentFindings]? {
    var helpers: [PosixThread] = []
    for _ in 1..<RecordPass.threadCount {
      if let helper = try? PosixThread(name: "albumfs-check", { self.work() }) {
        helpers.append(helper)
      }
    }
    work()
    for helper in helpers { helper.join() }
    let end = state.withLock { $0 }
    if let failure = end.failure { throw failure }
    return end.isStopped ? nil : end.findings.sorted { $0.segment < $1.segment }
  }

  private func work() {
    let image = SegmentImage(byteCount: files.segmentSize)
    let plaintext = SegmentImage(byteCount: RecordLayout.maximumPlaintext)
    defer { plaintext.wipe() }
    while let segment = takeNext() {
      do throws(StoreError) {
        let findings = try inspect(segment, image, plaintext)
        state.withLock { $0.findings.append(findings) }
      } catch {
        state.withLock { $0.failure = error }
      }
    }
  }

  private func takeNext() -> SegmentNumber? {
    let size = Int64(files.segmentSize)
    let place = state.withLock { state -> Int? in
      if state.isStopped || state.failure != nil || state.next == segments.count { return nil }
      state.next += 1
      return state.next - 1
    }
    guard let place else { return nil }
    let goesOn = progress(Int64(place) * size, Int64(segments.count) * size)
    if !goesOn { state.withLock { $0.isStopped = true } }
    return goesOn ? segments[place] : nil
  }

  private func inspect(_ segment: SegmentNumber, _ image: SegmentImage, _ plaintext: SegmentImage)
    throws(StoreError) -> SegmentFindings
  {
    let id = SegmentID(kind: .data, number: segment)
    let isThere = try files.load(id, into: image)
    var inspection = SegmentInspection(
      segment, name: files.name(id), cipher: files.keys.cipher, image: image, plaintext: plaintext)
    var findings = inspection.run(uses(of: segment), walksAll: walked.contains(segment))
    if !isThere {
      findings.state = .missing
    } else if image.used < files.segmentSize {
      findings.state = .short(image.used)
    }
    findings.hasReadErrors = image.hasReadErrors
    return findings
  }

  private func uses(of segment: SegmentNumber) -> ArraySlice<RecordUse> {
    let lower = firstUse(atOrBehind: segment.rawValue)
    return uses[lower..<firstUse(atOrBehind: segment.rawValue + 1)]
  }

  private func firstUse(atOrBehind segment: UInt32) -> Int {
    uses.partitioningIndex { $0.extent.segment.rawValue >= segment }
  }
}
