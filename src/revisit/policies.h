// The constructors of the policies, each in a file of its own.
#ifndef ESCALONA_REVISIT_POLICIES_H_
#define ESCALONA_REVISIT_POLICIES_H_

#include <memory>

#include "escalona/revisit_policy.h"

namespace escalona::revisit {

std::unique_ptr<RevisitPolicy> MakeRandomPolicy(const PolicyOptions& options);
std::unique_ptr<RevisitPolicy> MakeMergePolicy(const PolicyOptions& options);
std::unique_ptr<RevisitPolicy> MakeBucketedMergePolicy(const PolicyOptions& options);
std::unique_ptr<RevisitPolicy> MakeDelayedPolicy(const PolicyOptions& options);
std::unique_ptr<RevisitPolicy> MakeHybridPolicy(const PolicyOptions& options);

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_POLICIES_H_
