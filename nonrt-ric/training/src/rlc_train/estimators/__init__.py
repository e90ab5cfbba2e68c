"""Regressors of scikit-learn, LightGBM, river and statsforecast, and a user's own, as forecasters.

:mod:`~rlc_train.estimators.spec` says in settings which one, :mod:`~rlc_train.estimators.make`
makes it, :mod:`~rlc_train.estimators.regressor` fits whatever has ``fit(X, y)`` and
``predict(X)``, :mod:`~rlc_train.estimators.univariate` asks models of one series.
"""
