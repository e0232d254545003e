import AlbumModel
import AlbumSecrets
import ControlProtocol
import Glibc
import Posix

/// A password is tried on a mounted store that lies on another machine.
///
/// Its server may be silent, and a process that waits for it in the kernel cannot be ended. So another
/// process, the worker, makes all calls that may wait so. First it looks whether the store responds, and says
/// so; then it gets the password. This process waits for each step for a short time only, and treats a store
/// that is slower as one that the password does not unlock.
///
/// Several trials can begin at once. The workers derive keys one after the other, because that takes much
/// memory.
final class DistantTrial {
  private let channel: MessageStream
  private let worker: Int32
  private let begin = MonotonicTime.now

  /// How long a store may take to respond, and then to be read while keys are derived.
  private static let (patience, limit) = (Duration.seconds(3), Duration.seconds(10))
  /// The name that `ps` shows of a worker that looks.
  private static let name = "albumfs-trial"
  /// Workers that still wait for silent servers are as many as this, however many passwords are tried.
  private static let workerLimit = 8

  /// nil if no process can be started, or too many wait already.
  init?(_ store: String) {
    guard DistantTrial.waiting < DistantTrial.workerLimit,
      let (ours, theirs) = try? makeSocketPair()
    else { return nil }
    channel = MessageStream(FileDescriptor(owning: ours))
    let other = FileDescriptor(owning: theirs)
    let words = ["albumfs", AttendedCommand.word, SessionCommand.name]
    let ends = [
      Subprocess.Redirection(STDIN_FILENO, other.rawValue),
      Subprocess.Redirection(STDOUT_FILENO, other.rawValue),
      Subprocess.Redirection(STDERR_FILENO, -1),
    ]
    let started = try? Subprocess.start(
      words + ["--mounted", "--password-stdin", "--", store], program: "/proc/self/exe", ends,
      isolated: true)
    guard let started else { return nil }
    worker = started
  }

  /// The worker does no more, as soon as the call returns in which it waits.
  deinit { _ = kill(worker, SIGKILL) }

  /// The mount of the space that the password unlocks; nil if it unlocks none, or the store does not respond.
  func result(of password: borrowing SecretBytes) -> GalleryMount? {
    guard message(until: begin + DistantTrial.patience, Step.self) == .responds,
      (try? PasswordInput.write(password, to: channel.descriptor)) != nil,
      case .tried(let found) = message(until: .now + DistantTrial.limit, Step.self)
    else { return nil }
    return found
  }

  private func message<Message: Codable>(
    until end: MonotonicTime, _ type: Message.Type
  ) -> Message? {
    let rest = max(.zero, end - .now)
    guard channel.isReadable(within: CInt(rest.milliseconds)) else { return nil }
    return try? channel.receive(type)
  }

  private static var waiting: Int {
    ProcessState.all().count {
      // Those of other users cannot get a signal.
      ProcessState.name(of: $0) == name && kill($0, 0) == 0
    }
  }

  // MARK: The worker

  /// What a worker says.
  private enum Step: Codable, Equatable {
    case responds
    case tried(GalleryMount?)
  }

  static func work(on store: String) throws {
    ProcessSetup.nameProcess(name)
    DistantStores.ask(store)
    ProcessSetup.protectMemory()
    let channel = MessageStream(FileDescriptor(owning: STDOUT_FILENO))
    try channel.send(Step.responds)
    let password = try PasswordInput.existing(.standardInput, prompt: "")
    try channel.send(Step.tried(SessionCommand.mount(in: store, unlockedBy: password)))
  }
}
