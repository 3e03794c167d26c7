// The routes of the association counter.
#ifndef ESCALONA_SERVER_ASSOCIATION_API_H_
#define ESCALONA_SERVER_ASSOCIATION_API_H_

#include <memory>
#include <string>
#include <vector>

#include "assoc/namespaces.h"
#include "escalona/clock.h"
#include "server/router.h"

namespace escalona::server {

struct AssociationApiOptions {
  bool writes_wait = false;  // for the disk: durability sync
  size_t max_array_bytes = 64 << 20;
  size_t max_list_bytes = 256 << 20;  // of one that replaces another
};

// Adds, for the default namespace and, behind /ns/{namespace}, for every other:
//   POST   /associations                        one association
//   GET    /associations                        export
//   DELETE /associations?associatedKey=         a key, from all lists
//   POST   /associations/batch                  many
//   POST   /associations/baskets                all ordered pairs of some keys
//   POST   /associations/import                 the other way round of export
//   GET    /associations/{key}                  the top K
//   DELETE /associations/{key}
//   GET    /associations/{key}/{associatedKey}  count and rank
//   DELETE /associations/{key}/{associatedKey}
//   GET    /totals, /totals/{key}
// and GET /ns; PUT, GET, DELETE /ns/{namespace}. docs/associations.md describes them.
// `namespaces` may still be null when this is called; it must be set when the server starts.
void AddAssociationRoutes(const AssociationApiOptions& options,
                          const std::unique_ptr<assoc::Namespaces>& namespaces, const Clock& clock,
                          Router& router);

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_ASSOCIATION_API_H_
