"""All that may be known of the twin from outside it: import from here and from nowhere else in `twin`.

One module per question, so that whoever asks about settings does not load the engine:
`settings`: what a cluster can be made of: parts, weather, rights, machines. Loads no engine.
`files`: files that make a cluster, each read within limits or refused: machines, failures, queues, rates.
`workloads`: what arrives on which nodes: the workloads that ship, files of one's own, fitted models.
`api`: the Kubernetes API in front of an engine, in this process, without HTTP.
`engine`: a cluster in this process, and what happens in it.
`objects`: what stands in a cluster, and what its annotations, names and amounts mean.
`latencies`: how requests of Services were served: counts of latencies, by bounds that never change.
`process`: the twin as a process, what is known of it from outside, and its journal.
"""
