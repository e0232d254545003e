import AlbumFormat
import AlbumStore
import ArgumentParser

struct Info: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what a store's conf says; it says nothing about its spaces.")

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  private struct Description: Encodable {
    struct Derivation: Encodable {
      var operations: UInt64
      var memory: Int
    }
    var version = 1
    var format: Int
    /// In bytes, like `memory` of Argon2id.
    var segmentSize: Int
    var argon2id: [Derivation]
  }

  func run() throws {
    let opened = try StoreCommands.open(store)
    opened.lookForMisplaced()
    StoreCommands.warn(of: opened)
    let configuration = opened.configuration
    if json {
      Terminal.result(
        json: Description(
          format: StoreConfiguration.format, segmentSize: configuration.segmentSize,
          argon2id: configuration.derivations.map {
            Description.Derivation(operations: $0.cost.operations, memory: $0.cost.memory)
          }))
      return
    }
    Terminal.result("Format:        \(StoreConfiguration.format)")
    Terminal.result("Segment size:  \(SizeArgument.text(Int64(configuration.segmentSize)))")
    for derivation in configuration.derivations {
      let memory = SizeArgument.text(Int64(derivation.cost.memory))
      Terminal.result("Argon2id:      \(derivation.cost.operations) passes over \(memory)")
    }
  }
}
