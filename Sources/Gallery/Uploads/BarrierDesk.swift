import ControlProtocol
import Posix

/// Makes one barrier for all who wait: nobody shares one that had begun before they came.
actor BarrierDesk {
  private let mount: MountedSpace
  private var running: Task<Void, any Error>?
  private var next: Task<Void, any Error>?

  init(_ mount: MountedSpace) { self.mount = mount }

  /// Returns when everything that was closed before is on disk.
  func wait(_ bridge: BlockingBridge) async throws {
    if let next { return try await next.value }
    let before = running
    let task = Task {
      _ = try? await before?.value
      begin()
      try await bridge.run { [mount] in
        do throws(Failure) { try mount.barrier() } catch {
          throw GalleryError(error.kind == .diskFull ? .room : .failed)
        }
      }
    }
    next = task
    try await task.value
  }

  private func begin() {
    running = next
    next = nil
  }
}
