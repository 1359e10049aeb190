"""A scorer can be sent to other processes, which open their own and give the same rewards."""

from __future__ import annotations

import pickle

from formalimg.rewards.reward_functions import reward_function
from formalimg.rewards.scorer import Scorer

CUP = {"objects": [{"label": "cup", "color": "blue", "box_2d": [100, 100, 200, 200]}]}
RED_CUP = {"formula": "(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"}


def test_a_scorer_and_a_reward_function_with_one_can_be_sent() -> None:
    scorer = Scorer(weights={"object": 3})
    found = scorer.score_all([(CUP, RED_CUP)])  # what it remembers does not go along
    other = pickle.loads(pickle.dumps(scorer))
    assert other.settings == scorer.settings
    assert other.score_all([(CUP, RED_CUP)]) == found
    for function, score in ((reward_function(scorer), 0.75), (reward_function(), 0.5)):
        assert pickle.loads(pickle.dumps(function))([CUP], [""], [RED_CUP]).scores.tolist() == [score]
