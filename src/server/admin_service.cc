#include "server/admin_service.h"

#include "server/unary.h"
#include "server/wire.h"

namespace escalona::server {
namespace {

// Both lists have the same order.
ExplainReply::Reason ReasonOf(Explanation::Reason reason) {
  return static_cast<ExplainReply::Reason>(reason);
}
static_assert(static_cast<int>(Explanation::Reason::kServable) == ExplainReply::SERVABLE);
static_assert(static_cast<int>(Explanation::Reason::kDamaged) == ExplainReply::DAMAGED);

double SecondsOf(absl::Time time) { return absl::ToDoubleSeconds(time - absl::UnixEpoch()); }

Strategy StrategyOf(StrategyRequest::Strategy strategy) {
  switch (strategy) {
    case StrategyRequest::DEPTH_FIRST:
      return Strategy::kDepthFirst;
    case StrategyRequest::BEST_FIRST:
      return Strategy::kBestFirst;
    default:
      return Strategy::kBreadthFirst;
  }
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::Explain(grpc::CallbackServerContext* context,
                                                const ExplainRequest* request,
                                                ExplainReply* reply) {
  return Later(context, workers_, "Explain", [this, request, reply] {
    const absl::StatusOr<Explanation> why =
        frontier_.Explain(CrawlOf(request->crawl()), request->key(), request->url());
    if (!why.ok()) return why.status();
    for (const Explanation::Reason reason : why->reasons) reply->add_reasons(ReasonOf(reason));
    if (why->when != absl::InfiniteFuture()) reply->set_when(SecondsOf(why->when));
    reply->set_before(why->before);
    reply->set_now(SecondsOf(clock_.Now()));
    const std::string_view derived = DeriveQueueKey(request->url());
    reply->set_key(request->key().empty() ? std::string(derived) : request->key());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::SetStrategy(grpc::CallbackServerContext* context,
                                                    const StrategyRequest* request,
                                                    StrategyReply*) {
  return Later(context, workers_, "SetStrategy", [this, request] {
    return frontier_.SetStrategy(
        CrawlOf(request->crawl()), StrategyOf(request->strategy()),
        request->url_order() == StrategyRequest::DEPTH ? UrlOrder::kDepth : UrlOrder::kDate);
  });
}

grpc::ServerUnaryReactor* AdminService::SetQueueAddress(grpc::CallbackServerContext* context,
                                                        const AddressRequest* request,
                                                        AddressReply*) {
  return Later(context, workers_, "SetQueueAddress", [this, request] {
    return frontier_.SetQueueAddress(CrawlOf(request->crawl()), request->key(), request->ip());
  });
}

}  // namespace escalona::server
