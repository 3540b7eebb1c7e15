"""Looking again after an execution: does the cluster show its end, and did anything get worse?"""
