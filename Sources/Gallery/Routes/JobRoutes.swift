import HTTPTypes
import Hummingbird

extension GalleryRoutes {
  private struct Order: Decodable {
    var kind: Job.Kind
    var ids: [String]
    var album: String?
    /// True for the files themselves, without what belongs to them.
    var alone: Bool?
  }

  /// Room for the ids of 200,000 photos.
  private static let orderLimit = 8 << 20

  func addJobs(to router: Router<Context>) {
    router.post("/api/jobs") { request, _ in
      let session = try sessions.session(request)
      let order = try await RequestBodies.json(request, Order.self, atMost: Self.orderLimit)
      return Self.reply(try begin(order, session))
    }
    router.get("/api/jobs/:id") { request, context in
      Self.reply(try job(request, context))
    }
    router.post("/api/jobs/:id/cancel") { request, context in
      let job = try job(request, context)
      job.cancel()
      return Self.reply(job)
    }
    router.post("/api/jobs/:id/now") { request, context in
      let job = try job(request, context)
      job.hurry()
      return Self.reply(job)
    }
  }

  private func job(_ request: Request, _ context: Context) throws -> Job {
    try sessions.session(request).jobs.job(try Self.parameter("id", context))
  }

  private func begin(_ order: Order, _ session: Session) throws -> Job {
    try session.space.requireWritable()
    if order.kind == .load { throw GalleryError(.invalid) }
    let items = try items(order, session)
    let job = Job(order.kind, total: items.count)
    let work = JobWork(session, job, self.work)
    if order.kind == .delete {
      session.jobs.add(job)
      work.delete(items)
      return job
    }
    guard let id = order.album else { throw GalleryError(.invalid) }
    let album = try session.album(id)
    session.jobs.add(job)
    if order.kind == .move { work.move(items, to: album) } else { work.copy(items, to: album) }
    return job
  }

  /// Each group once, however many of its files an order names.
  private func items(_ order: Order, _ session: Session) throws -> [JobWork.Item] {
    let isAlone = order.alone == true
    let groups = try session.groups(order.ids, isAlone: isAlone)
    return groups.map { JobWork.Item(photo: $0[0], files: Set($0)) }
  }

  static func reply(_ job: Job) -> Response {
    var text = JSONText()
    text.object { text in text.field("job") { job.write(to: &$0) } }
    return text.response()
  }
}
