"""The outcome score: amounts from observations, prices from settings, money per hour from both.

`look_of` takes from one observation what counts; `add_look` adds the step between two looks to a tally;
`score_of` prices a tally, `difference_of` two of them. Nothing here knows what was decided, so an action that
was refused or failed changes nothing.
"""
