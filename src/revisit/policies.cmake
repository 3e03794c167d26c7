# Page selection: the policies, their closed forms, and the simulation that measures them.
target_sources(escalona PRIVATE
  bucketed_merge_policy.cc
  bucketed_pages.cc
  hybrid_policy.cc
  merge_policy.cc
  policy_freshness.cc
  population.cc
  random_policy.cc
  revisit_policy.cc
  simulation.cc)
target_link_libraries(escalona PRIVATE absl::flat_hash_map)
