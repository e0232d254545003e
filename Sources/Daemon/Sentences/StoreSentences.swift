import AlbumFormat
package import AlbumStore
import ControlProtocol
import Posix

// Warnings about a store, in words. They name commands, which the core does not know.

extension StoreWarning {
  /// A whole sentence.
  package var sentence: String { Failure.sentence(words) }

  /// Without a capital at the beginning or a full stop at the end, as findings of a check are.
  package var words: String {
    switch self {
    case .unusableConf(let path, let twin, let fault): StoreWarning.words(path, twin, fault)
    case .confsDiffer(let right): StoreWarning.difference(right)
    case .lostKeys:
      "\(StorePath.keys) is missing, so no password unlocks a space of the store. Restore it from a backup. If "
        + "there is none, albumfs space password --recovery-key makes it anew, for this space alone"
    case .noSlot:
      "\(StorePath.keys) has no slot of this space, so no password unlocks it. Restore it from a backup, or "
        + "set a password with albumfs space password --recovery-key"
    case .wrongSizeOfKeys(let count):
      "\(StorePath.keys) has the wrong size (\(count) bytes): it was cut short, or bytes were added. Restore "
        + "it from a backup. A space whose slot is lost can be unlocked only by its recovery key"
    case .misplaced(let path, let error): StoreError(reading: path, error).message
    case .unknownLine(let line):
      "\(StorePath.configuration) has an Argon2id line that this space does not know "
        + "(\(line.name)): either space add or space password wrote it for another password, or "
        + "somebody edited the file. It weakens no password. If nobody set one, \(StoreWarning.restore)"
    case .unknownWeakLine(let line):
      "\(StorePath.configuration) was edited: it has an Argon2id line that makes passwords easy to guess "
        + "(\(line.name)), and that this space does not know. albumfs seals no password with it. To remove "
        + "the line, \(StoreWarning.restore)"
    case .weakLine(let line):
      "\(StorePath.configuration) has an Argon2id line that makes passwords easy to guess (\(line.name)). "
        + "albumfs seals no new password with it. If the line was not there from the beginning, the file "
        + "was edited: \(StoreWarning.restore)"
    case .missingLine:
      "\(StorePath.configuration) lacks an Argon2id line that it had: passwords that were set with it "
        + "unlock nothing any more. To bring the line back, \(StoreWarning.restore)"
    case .weakSlot(let cost):
      "the space's password is easy to guess: its slot is sealed with \(cost.text) (\(KDFCost.floor.text) "
        + "is the least today). Change it with albumfs space password, and make new backups"
    case .weakForTests(let cost):
      "\(TestHooks.Variable.allowWeakPasswords.rawValue) is set, which is for tests: the password is sealed with \(cost.text) and "
        + "easy to guess"
    case .chaffForbiddenForTests:
      "\(TestHooks.Variable.forbidChaff.rawValue) is set, which is for tests: no chaff is added, so that another space would be "
        + "seen. Unset it"
    }
  }

  private static func difference(_ right: String?) -> String {
    let (main, twin) = (StorePath.configuration, StorePath.configurationTwin)
    guard let right else {
      return
        "\(main) and \(twin) differ, and nothing shows which is right: restore both from a backup"
    }
    return "\(main) and \(twin) differ: copy \(right) over \(right == main ? twin : main)"
  }

  private static func words(_ path: String, _ twin: String, _ fault: ConfFault) -> String {
    let advice = "albumfs uses \(twin) now; copy it over \(path)"
    return switch fault {
    case .missing: "\(path) is missing. \(advice)"
    case .unreadable(let error): "\(path) cannot be read: \(error). \(advice)"
    case .undecodable(let error): "\(path) is damaged or was edited: \(error.reason). \(advice)"
    }
  }

  private static let restore =
    "copy \(StorePath.configuration) from a backup over \(StorePath.configuration) and "
    + "\(StorePath.configurationTwin)"
}

extension KeyDerivation {
  /// `line 2: 1 pass over 8 KiB`
  fileprivate var name: String { "line \(number): \(cost.text)" }
}
