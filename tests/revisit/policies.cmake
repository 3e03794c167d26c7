# Page selection and its simulation.
escalona_test(policy_freshness_test policy_freshness_test.cc)
escalona_test(revisit_policy_test revisit_policy_test.cc)
escalona_test(simulation_test simulation_test.cc)
escalona_script_test(simulate_command simulate_command_test.py)
