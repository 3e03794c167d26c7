// The service escalona.Admin: what the URLFrontier API has no word for.
#ifndef ESCALONA_SERVER_ADMIN_SERVICE_H_
#define ESCALONA_SERVER_ADMIN_SERVICE_H_

#include "escalona/clock.h"
#include "escalona/frontier.h"
#include "server/admin.grpc.pb.h"
#include "server/worker_pool.h"

namespace escalona::server {

class AdminService final : public Admin::CallbackService {
 public:
  AdminService(Frontier& frontier, const Clock& clock) : frontier_(frontier), clock_(clock) {}

  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context,
                                    const ExplainRequest* request, ExplainReply* reply) override;
  grpc::ServerUnaryReactor* SetStrategy(grpc::CallbackServerContext* context,
                                        const StrategyRequest* request,
                                        StrategyReply* reply) override;
  grpc::ServerUnaryReactor* SetQueueAddress(grpc::CallbackServerContext* context,
                                            const AddressRequest* request,
                                            AddressReply* reply) override;

 private:
  Frontier& frontier_;
  const Clock& clock_;
  WorkerPool workers_{1};
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_ADMIN_SERVICE_H_
